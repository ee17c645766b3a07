// From token pieces to text: what a reader sees of one token, and what tokens say together.
// The same rules as explorer/records/text.py; a test compares the two.

/** @import { Piece } from "../../types/records.js" */

/** @type {Record<string, string>} */
const MARKS = { " ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍" };
/** @type {Record<string, string>} */
const NAMES = {
  "\x00": "NUL",
  "\x07": "BEL",
  "\x08": "BS",
  "\x0b": "VT",
  "\x0c": "FF",
  "\x1b": "ESC",
  "\x7f": "DEL",
  "\u0085": "NEL",
  "\u00a0": "NBSP",
  "\u00ad": "SHY",
  "\u061c": "ALM",
  "\u200b": "ZWSP",
  "\u200c": "ZWNJ",
  "\u200d": "ZWJ",
  "\u200e": "LRM",
  "\u200f": "RLM",
  "\u2028": "LSEP",
  "\u2029": "PSEP",
  "\u202a": "LRE",
  "\u202b": "RLE",
  "\u202c": "PDF",
  "\u202d": "LRO",
  "\u202e": "RLO",
  "\u2060": "WJ",
  "\u2066": "LRI",
  "\u2067": "RLI",
  "\u2068": "FSI",
  "\u2069": "PDI",
  "\ufeff": "BOM",
};
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Zs}]/u;
const CONTROL = /[\p{Cc}\p{Cs}]/u;
const COMBINING = /^\p{M}/u;
const RIGHT_TO_LEFT =
  /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const ISOLATE = "\u2068";
const END_ISOLATE = "\u2069";

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

/**
 * The raw bytes of a piece; U+FFFD where a damaged trace gives no valid hex.
 * @param {Piece} piece
 */
export function pieceBytes(piece) {
  if (piece.text !== null) return encoder.encode(piece.text);
  const hex = piece.bytes ?? "";
  if (!/^([0-9a-f]{2})*$/i.test(hex)) return encoder.encode("\ufffd");
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/**
 * One token for a label, at most `limit` characters of it.
 * @param {Piece} piece
 * @param {number | null} limit
 */
export function visible(piece, limit = null) {
  const whole = piece.text ?? decodedOrMarked(pieceBytes(piece));
  // A very long token is cut before it is looked through; no character becomes shorter.
  const cut = limit !== null && whole.length > 4 * limit ? whole.slice(0, 4 * limit) : whole;
  let marked = visibleText(cut);
  const characters = [...marked];
  if (limit !== null && characters.length > limit) {
    marked = `${characters.slice(0, limit - 1).join("")}…`;
  }
  if (marked === "") return "⟨empty⟩";
  return RIGHT_TO_LEFT.test(marked) ? `${ISOLATE}${marked}${END_ISOLATE}` : marked;
}

/**
 * Every character made visible.
 * @param {string} text
 */
export function visibleText(text) {
  let marked = "";
  for (const char of text) marked += MARKS[char] ?? (HIDDEN.test(char) ? named(char) : char);
  return COMBINING.test(marked) ? `◌${marked}` : marked;
}

/**
 * Text for a running paragraph: line breaks and tabs stay, other controls show by name.
 * @param {string} text
 */
export function readable(text) {
  let out = "";
  for (const char of text.replaceAll("\r\n", "\n")) {
    out += char === "\n" || char === "\t" || !CONTROL.test(char) ? char : named(char);
  }
  return out;
}

/** Joins pieces to whole characters, a token at a time. */
export class Assembler {
  #pending = new Uint8Array();

  /**
   * The text that a piece completes, and the marks of bytes that still wait for others.
   * @param {Piece} piece
   */
  add(piece) {
    if (this.#pending.length === 0 && piece.text !== null) return { text: piece.text, rest: "" };
    const bytes = Uint8Array.from([...this.#pending, ...pieceBytes(piece)]);
    const end = bytes.length - incomplete(bytes);
    this.#pending = bytes.slice(end);
    return { text: lenient.decode(bytes.slice(0, end)), rest: byteMarks(this.#pending) };
  }
}

/**
 * How many bytes at the end are the beginning of a character.
 * @param {Uint8Array} bytes
 */
function incomplete(bytes) {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back];
    if (byte >= 0xc0) {
      if (byte < 0xc2 || byte > 0xf4) return 0; // begins no character
      const need = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return need > back ? back : 0;
    }
    if (byte < 0x80) return 0;
  }
  return 0;
}

/** @param {Uint8Array} bytes */
function decodedOrMarked(bytes) {
  try {
    return strict.decode(bytes);
  } catch {
    return [...bytes]
      .map((byte) => (byte < 0x80 ? String.fromCharCode(byte) : mark(byte)))
      .join("");
  }
}

/** @param {number} byte */
const mark = (byte) => `⟨${byte.toString(16).toUpperCase().padStart(2, "0")}⟩`;
/** @param {Uint8Array} bytes */
const byteMarks = (bytes) => [...bytes].map(mark).join("");
/** @param {string} char */
const hex4 = (char) => (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0");
/** @param {string} char */
const named = (char) => `⟨${NAMES[char] ?? `U+${hex4(char)}`}⟩`;
