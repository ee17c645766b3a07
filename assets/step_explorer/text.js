// From token pieces to text: what tokens say together, and a label cut to the room there is.
// Labels come with the pieces (explorer/records/piece.py); the rest is as in records/text.py, and a
// test compares the two.

/** @import { Piece } from "../../types/records.js" */

const CONTROL = /[\p{Cc}\p{Cs}]/u;
const ISOLATE = "\u2068";
const END_ISOLATE = "\u2069";

const lenient = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

/**
 * At most `limit` characters of a label, the marks that isolate it apart.
 * @param {string} label
 * @param {number} limit
 */
export function shortened(label, limit) {
  const isolated = label.startsWith(ISOLATE);
  const characters = [...(isolated ? label.slice(1, -1) : label)];
  if (characters.length <= limit) return label;
  const cut = `${characters.slice(0, limit - 1).join("")}…`;
  return isolated ? `${ISOLATE}${cut}${END_ISOLATE}` : cut;
}

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
 * Text for a running paragraph: line breaks and tabs stay, other controls show by number.
 * @param {string} text
 */
export function readable(text) {
  let out = "";
  for (const char of text.replaceAll("\r\n", "\n")) {
    out += char === "\n" || char === "\t" || !CONTROL.test(char) ? char : numbered(char);
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

/** @param {number} byte */
const mark = (byte) => `⟨${byte.toString(16).toUpperCase().padStart(2, "0")}⟩`;
/** @param {Uint8Array} bytes */
const byteMarks = (bytes) => [...bytes].map(mark).join("");
/** @param {string} char */
const numbered = (char) => `⟨U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
