"""Every formula that the product shows, in one place.

Symbols: α acceptance rate of one draft; K drafts of a chain; n rows of a verify pass (nodes and
the root); T₁ time of a one-row pass of the base model; C(n) = T_verify(n)/T₁; τ tokens per step,
the root counted. Times may be in any unit, as long as it is the same one.

Sources: Leviathan, Kalman, Matias 2023, "Fast Inference from Transformers via Speculative
Decoding" (E: equation 1, S: theorem 3.8); Cai et al. 2024, "Medusa", arXiv 2401.10774, section
2.3.3 (trees). The forms with C(n) are the same accounting with the measured cost instead of
"verifying K+1 rows costs one".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def expected_tokens(alpha: float, k: int) -> float:
    """E(α, K): expected tokens per step of a chain of K drafts, the base model's own included.

    E = (1 − α^(K+1)) / (1 − α), and K + 1 at α = 1. Assumes that drafts are accepted independently
    with the same rate α (Leviathan et al. 2023, equation 1). Raises ValueError unless α is in
    [0, 1] and K ≥ 0.
    """
    _require_rate("alpha", alpha)
    if k < 0:
        raise ValueError(f"k must be 0 or more, not {k}")
    # Horner's form of 1 + α + … + α^K: equal to the quotient, and exact at α = 1 and close to it.
    total = 1.0
    for _ in range(k):
        total = 1.0 + alpha * total
    return total


def idealised_speedup(alpha: float, k: int, draft_over_target: float) -> float:
    """S = E / (1 + K · T_draft/T_target): speedup if verifying K+1 rows costs as much as one.

    `draft_over_target` is the time of one pass of the drafter over T₁ (Leviathan et al. 2023,
    theorem 3.8). Raises ValueError for a negative ratio.
    """
    return speedup_at_cost(alpha, k, draft_over_target, cost=1.0)


def speedup_at_cost(alpha: float, k: int, draft_over_target: float, cost: float) -> float:
    """S′ = E / (C(K+1) + K · T_draft/T_target): the speedup with the measured cost of K+1 rows.

    `cost` is C(K+1). Raises ValueError for a negative ratio or a cost that is not positive.
    """
    _require_not_negative("draft_over_target", draft_over_target)
    _require_positive("cost", cost)
    return expected_tokens(alpha, k) / (cost + k * draft_over_target)


def break_even_tokens_per_step(
    one_row: float, draft: float, verify: float, rest: float = 0.0
) -> float:
    """The τ from which speculation pays: (T_draft + T_verify(n) + T_rest) / T₁.

    A step must emit more tokens (the root counted) than plain decoding would in the same time.
    `draft` covers heads and candidate choice of the whole step. Raises ValueError unless T₁ > 0.
    """
    _require_positive("one_row", one_row)
    return (draft + verify + rest) / one_row


def pays(
    tokens_per_step: float, one_row: float, draft: float, verify: float, rest: float = 0.0
) -> bool:
    """Whether τ · T₁ > T_draft + T_verify(n) + T_rest.

    τ counts the root: m accepted drafts are m + 1 tokens; texts often forget that one.
    """
    return tokens_per_step > break_even_tokens_per_step(one_row, draft, verify, rest)


def break_even_acceptance(k: int, step_cost: float) -> float | None:
    """The α from which a chain of K drafts pays: E(α, K) = the step's cost in plain passes.

    `step_cost` is (T_draft + T_verify + T_rest)/T₁ of the whole step. None if not even α = 1 pays;
    0 if every step does. E grows with α, so halving finds it (to 10⁻⁹).
    """
    if expected_tokens(1.0, k) < step_cost:
        return None
    low, high = 0.0, 1.0
    if expected_tokens(low, k) >= step_cost:
        return low
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if expected_tokens(middle, k) >= step_cost else (middle, high)
    return high


def path_probability(path: Sequence[int], accuracy: Sequence[Sequence[float]]) -> float:
    """Π a along a rank path: `accuracy[d][r]` is how often rank r of head d+1 is right.

    The product assumes that the heads are independent (Medusa, section 2.3.3); their successes
    are correlated, so the product underestimates deep paths. Ranks or depths that `accuracy` does
    not cover count as never right.
    """
    product = 1.0
    for depth, rank in enumerate(path):
        if depth >= len(accuracy) or rank >= len(accuracy[depth]):
            return 0.0
        product *= accuracy[depth][rank]
    return product


def reach_probabilities(
    paths: Iterable[Sequence[int]], accuracy: Sequence[Sequence[float]]
) -> list[float]:
    """P(L ≥ m) for m = 1 … depth of the tree: Σ over its paths of length m of Π a.

    `paths` is the tree's shape: every node once, by its rank path. Paths of the same length
    exclude each other (a head's ranks hold different tokens), so their probabilities add up.
    """
    totals: dict[int, float] = {}
    for path in paths:
        totals[len(path)] = totals.get(len(path), 0.0) + path_probability(path, accuracy)
    return [totals.get(m, 0.0) for m in range(1, max(totals, default=0) + 1)]


def expected_accepted(reach: Iterable[float]) -> float:
    """E[L] = Σ_m P(L ≥ m): expected accepted drafts per step, the root not counted."""
    return float(sum(reach))


def tree_tokens_per_step(
    paths: Iterable[Sequence[int]], accuracy: Sequence[Sequence[float]]
) -> float:
    """τ = 1 + E[L] of a tree by the product of accuracies: the paper's estimate."""
    return 1.0 + expected_accepted(reach_probabilities(paths, accuracy))


def tree_speedup(tokens_per_step: float, cost: float, overhead: float = 0.0) -> float:
    """S = τ / (C(n) + (T_heads + T_rest)/T₁).

    `cost` is C(n) with n counting the root; `overhead` is the quotient (T_heads + T_rest)/T₁.
    Raises ValueError unless cost > 0 and overhead ≥ 0.
    """
    _require_positive("cost", cost)
    _require_not_negative("overhead", overhead)
    return tokens_per_step / (cost + overhead)


def read_milliseconds(size: int, bandwidth: float) -> float:
    """Milliseconds in which `size` bytes are read with `bandwidth` GB/s (10⁹ bytes a second).

    The memory roof of the roofline model (Williams, Waterman, Patterson 2009), as a time. Raises
    ValueError unless the bandwidth is above 0.
    """
    _require_positive("bandwidth", bandwidth)
    return size / bandwidth / 1e6


def multiply_milliseconds(operations: float, rate: float) -> float:
    """Milliseconds of a number of floating-point operations at `rate` TFLOP/s (10¹² a second).

    The other roof of the roofline model. Raises ValueError unless the rate is above 0.
    """
    _require_positive("rate", rate)
    return operations / rate / 1e9


def weight_bytes(parameters: float, bits: float) -> float:
    """Bytes that N parameters take with `bits` each: N · bits / 8.

    70 billion in 16 bits are 140 GB (10⁹ bytes), in 4 bits 35 GB; a quantised format adds its
    scales. Raises ValueError unless both are above 0.
    """
    _require_positive("parameters", parameters)
    _require_positive("bits", bits)
    return parameters * bits / 8


def pass_flop(parameters: float, rows: float = 1) -> float:
    """FLOP of a forward pass over `rows` tokens: 2 · N a token, a multiplication and an addition.

    Leaves out attention over the text so far (Kaplan et al. 2020, "Scaling Laws for Neural Language
    Models", section 2.1).
    """
    return 2 * parameters * rows


def arithmetic_intensity(bits: float, rows: float = 1) -> float:
    """FLOP per byte of weights in a pass over `rows` tokens: 2 · rows / (bits / 8).

    About 1 for one token in 16 bits. Counts the weights alone (Williams et al. 2009 for the word).
    """
    _require_positive("bits", bits)
    return 2 * rows / (bits / 8)


def pass_seconds(
    parameters: float, bits: float, bandwidth: float, flops: float, rows: float = 1
) -> float:
    """Roofline time of a pass: the longer of reading the weights and computing.

    max(N · bits/8 / W, 2 · N · rows / F) with W in bytes and F in FLOP a second (Williams et al.
    2009): a bound that assumes perfect overlap, so no pass is faster. Raises ValueError unless W
    and F are above 0.
    """
    _require_positive("bandwidth", bandwidth)
    _require_positive("flops", flops)
    read = weight_bytes(parameters, bits) / bandwidth
    return max(read, pass_flop(parameters, rows) / flops)


def idle_share(bits: float, bandwidth: float, flops: float, rows: float = 1) -> float:
    """The share of a pass in which the arithmetic units wait for memory: 1 − T_compute/T_pass.

    0 where the pass is compute-bound. It does not depend on the number of parameters.
    """
    whole = pass_seconds(1.0, bits, bandwidth, flops, rows)
    return 1 - pass_flop(1.0, rows) / flops / whole


def free_rows(bits: float, bandwidth: float, flops: float) -> float:
    """The rows at which a pass stops being memory-bound: F/W · bits/8 / 2.

    Up to there a row more costs nothing in the roofline model; batch × rows of a verify pass count
    together.
    """
    _require_positive("bandwidth", bandwidth)
    return flops / bandwidth * bits / 16


def kv_cache_bytes(
    layers: int, kv_heads: int, head_size: int, context: int, batch: int = 1, bits: int = 16
) -> float:
    """Bytes of keys and values: 2 · layers · kv_heads · head_size · context · batch · bits / 8.

    The 2 is for keys and values; grouped-query attention has fewer `kv_heads` than query heads.
    """
    return 2 * layers * kv_heads * head_size * context * batch * bits / 8


def all_reduce_seconds(size: float, gpus: int, bandwidth: float, latency: float) -> float:
    """Seconds to sum `size` bytes over GPUs: latency + 2 (G − 1)/G · size / bandwidth; 0 for one.

    The bandwidth term is that of a ring (Patarasuk, Yuan 2009, "Bandwidth optimal all-reduce
    algorithms for clusters of workstations"); `latency` is that of a whole all-reduce.
    """
    if gpus <= 1:
        return 0.0
    _require_positive("bandwidth", bandwidth)
    return latency + 2 * (gpus - 1) / gpus * size / bandwidth


def tensor_parallel_seconds(
    read: float, layers: int, width: int, gpus: int, memory: float, link: float, latency: float
) -> float:
    """Seconds of a memory-bound one-row pass whose matrices are split over GPUs.

    `read` bytes at `memory` bytes a second on each of `gpus`, and two all-reduces a layer of one
    16-bit hidden state of `width` (Shoeybi et al. 2019, section 3). Leaves out arithmetic.
    """
    _require_positive("memory", memory)
    summing = all_reduce_seconds(2 * width, gpus, link, latency)
    return read / gpus / memory + 2 * layers * summing


def overlap(p: Sequence[float], q: Sequence[float]) -> float:
    """Σ min(p, q): how often a candidate drawn from q is accepted (Leviathan et al. 2023, 3.2)."""
    return float(sum(map(min, p, q)))


def residual_distribution(p: Sequence[float], q: Sequence[float]) -> list[float]:
    """norm(max(0, p − q)), which a token is drawn from after a rejection; p where that is empty.

    Leviathan et al. 2023, section 2.3. It is empty only if p = q, when nothing is rejected.
    """
    owed = [max(0.0, wanted - offered) for wanted, offered in zip(p, q, strict=True)]
    total = sum(owed)
    return [value / total for value in owed] if total > 0 else list(p)


def typical_bar(entropy: float, epsilon: float, delta: float) -> float:
    """min(ε, δ · exp(−H)): what typical acceptance asks a probability to exceed (Medusa, 2.3.1).

    `entropy` is H of the base model's distribution after temperature, in nats.
    """
    return min(epsilon, delta * math.exp(-entropy))


def head_weight(k: int, decay: float = 0.8) -> float:
    """λ_k = decay^k: the weight of head k, from 1, in the training loss (Medusa, section 2.2.1).

    Raises ValueError for a k below 1.
    """
    if k < 1:
        raise ValueError(f"heads are counted from 1, not {k}")
    return decay**k


def head_parameters(hidden: int, heads: int, blocks: int, projected: int) -> int:
    """Parameters of Medusa heads: blocks of H × H weights and H biases, and V′ × H projections.

    `projected` counts the rows V′ of all projections together: heads · V where each head has its
    own (Medusa, section 2.1.1), 0 where all use the base model's LM head.
    """
    return heads * blocks * (hidden * hidden + hidden) + projected * hidden


def acceptance_rate(accepted: int, first_rejections: int) -> float | None:
    """Accepted / (accepted + first rejections) among steps that reached a depth; None if none did.

    Never accepted / drafted: that would count nodes that no step judged.
    """
    reached = accepted + first_rejections
    return accepted / reached if reached else None


def _require_rate(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must be between 0 and 1, not {value}")


def _require_positive(name: str, value: float) -> None:
    if value <= 0:
        raise ValueError(f"{name} must be above 0, not {value}")


def _require_not_negative(name: str, value: float) -> None:
    if value < 0:
        raise ValueError(f"{name} must be 0 or more, not {value}")
