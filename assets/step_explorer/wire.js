// From the server's compact events to a trace: the counterpart of explorer/ui/wire.py.
// Probabilities travel as millionths, a piece is told once, verdicts are letters.

const VERDICTS = { o: "root", a: "accepted", r: "rejected", p: "pruned" };
const TIMES = ["heads", "draft", "verify", "accept", "commit", "record"];
const MILLION = 1_000_000;

/** Add one event to a trace. */
export function take(trace, [kind, ...rest]) {
  KINDS[kind](trace, ...rest);
}

const KINDS = {
  run(trace, header, pieces) {
    addPieces(trace, pieces);
    trace.start(header);
  },
  step(trace, packed, pieces, trees) {
    addPieces(trace, pieces);
    trees.forEach((tree) => trace.addTree(tree));
    trace.addStep(stepOf(packed));
  },
  positions(trace, packed, pieces) {
    addPieces(trace, pieces);
    trace.addPositions(packed.map(positionOf));
  },
  prefill(trace, milliseconds) {
    trace.plainPrefill = milliseconds;
  },
  plain(trace, token_id, prob, milliseconds, pieces) {
    addPieces(trace, pieces);
    trace.addPlain({ token_id, prob: prob / MILLION, milliseconds });
  },
};

function addPieces(trace, pieces) {
  for (let i = 0; i < pieces.length; i += 2) {
    const written = pieces[i + 1];
    const partial = Array.isArray(written);
    trace.addPiece(pieces[i], {
      text: partial ? null : written,
      bytes: partial ? written[0] : null,
    });
  }
}

const share = (values) => values.map((value) => value / MILLION);

function stepOf(packed) {
  return {
    index: packed.i,
    context_length: packed.c,
    tree: packed.t,
    token_ids: packed.id,
    draft_probs: share(packed.d),
    joint_probs: share(packed.j),
    base_probs: share(packed.b),
    base_ranks: packed.r,
    choices: packed.w,
    thresholds: packed.h && share(packed.h),
    verdicts: [...packed.v].map((letter) => VERDICTS[letter]),
    base_top: topsOf(packed.ti, packed.tp, packed.k),
    accepted: packed.a,
    emitted: packed.e,
    bonus: packed.n,
    bonus_prob: packed.np === null ? null : packed.np / MILLION,
    positions: packed.p.map(positionOf),
    draft_top: packed.o?.map(topOf) ?? null,
    price: packed.pr ?? null,
    lookahead: packed.l,
    floor: floorOf(packed.f ?? null),
    timings: Object.fromEntries(TIMES.map((name, i) => [name, packed.ms[i]])),
  };
}

function topsOf(ids, probs, width) {
  const tops = [];
  for (let i = 0; i < ids.length; i += width) {
    tops.push({ ids: ids.slice(i, i + width), probs: share(probs.slice(i, i + width)) });
  }
  return tops;
}

const floorOf = (packed) => packed && { bytes: packed[0], milliseconds: packed[1] };

function positionOf([index, base_choice, ...heads]) {
  return { index, base_choice, heads: heads.map(topOf) };
}

const topOf = ([ids, probs]) => ({ ids, probs: share(probs) });
