"""Every work that Learn cites, in one table: `[cite: medusa 2.3.1]` in a text names a row of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """A work: how a text names it, its title, where it appeared, and its address."""

    name: str
    title: str
    where: str
    url: str

    def title_of(self, place: str = "") -> str:
        """The whole citation in one line."""
        section = f", {place}" if place else ""
        return f"{self.title}. {self.where}{section}"


def _arxiv(name: str, title: str, where: str, number: str) -> Source:
    return Source(name, title, f"{where}, arXiv {number}", f"https://arxiv.org/abs/{number}")


SOURCES = {
    "leviathan": _arxiv(
        "Leviathan et al. 2023",
        "Fast Inference from Transformers via Speculative Decoding",
        "ICML 2023",
        "2211.17192",
    ),
    "chen": _arxiv(
        "Chen et al. 2023",
        "Accelerating Large Language Model Decoding with Speculative Sampling",
        "2023",
        "2302.01318",
    ),
    "medusa": _arxiv(
        "Cai et al. 2024",
        "Medusa: Simple LLM Inference Acceleration Framework with Multiple Decoding Heads",
        "ICML 2024",
        "2401.10774",
    ),
    "stern": _arxiv(
        "Stern et al. 2018",
        "Blockwise Parallel Decoding for Deep Autoregressive Models",
        "NeurIPS 2018",
        "1811.03115",
    ),
    "specinfer": _arxiv(
        "Miao et al. 2023",
        "SpecInfer: Accelerating Generative Large Language Model Serving with Tree-based "
        "Speculative Inference and Verification",
        "ASPLOS 2024",
        "2305.09781",
    ),
    "sequoia": _arxiv(
        "Chen et al. 2024",
        "Sequoia: Scalable, Robust, and Hardware-aware Speculative Decoding",
        "2024",
        "2402.12374",
    ),
    "hydra": _arxiv(
        "Ankner et al. 2024",
        "Hydra: Sequentially-Dependent Draft Heads for Medusa Decoding",
        "2024",
        "2402.05109",
    ),
    "lookahead": _arxiv(
        "Fu et al. 2024",
        "Break the Sequential Dependency of LLM Inference Using Lookahead Decoding",
        "ICML 2024",
        "2402.02057",
    ),
    "eagle": _arxiv(
        "Li et al. 2024",
        "EAGLE: Speculative Sampling Requires Rethinking Feature Uncertainty",
        "ICML 2024",
        "2401.15077",
    ),
    "eagle-2": _arxiv(
        "Li et al. 2024b",
        "EAGLE-2: Faster Inference of Language Models with Dynamic Draft Trees",
        "EMNLP 2024",
        "2406.16858",
    ),
    "eagle-3": _arxiv(
        "Li et al. 2025",
        "EAGLE-3: Scaling up Inference Acceleration of Large Language Models via Training-Time "
        "Test",
        "NeurIPS 2025",
        "2503.01840",
    ),
    "fr-spec": _arxiv(
        "Zhao et al. 2025",
        "FR-Spec: Accelerating Large-Vocabulary Language Models via Frequency-Ranked Speculative "
        "Sampling",
        "2025",
        "2502.14856",
    ),
    "mtp": _arxiv(
        "Gloeckle et al. 2024",
        "Better & Faster Large Language Models via Multi-token Prediction",
        "ICML 2024",
        "2404.19737",
    ),
    "deepseek-v3": _arxiv("DeepSeek-AI 2024", "DeepSeek-V3 Technical Report", "2024", "2412.19437"),
    "pard": _arxiv(
        "An et al. 2025",
        "PARD: Accelerating LLM Inference with Low-Cost PARallel Draft Model Adaptation",
        "ICLR 2026",
        "2504.18583",
    ),
    "dflash": _arxiv(
        "Chen, Liang, Liu 2026",
        "DFlash: Block Diffusion for Flash Speculative Decoding",
        "ICML 2026",
        "2602.06036",
    ),
    "suffix": _arxiv(
        "Oliaro et al. 2025",
        "SuffixDecoding: Extreme Speculative Decoding for Emerging AI Applications",
        "NeurIPS 2025",
        "2411.04975",
    ),
    "prompt-lookup": Source(
        "Saxena 2023",
        "Prompt Lookup Decoding",
        "repository",
        "https://github.com/apoorvumang/prompt-lookup-decoding",
    ),
    "pard-repository": Source(
        "PARD’s repository",
        "PARD results on the vLLM v1 engine",
        "2026",
        "https://github.com/AMD-AGI/PARD",
    ),
    "sglang": Source(
        "SGLang’s documentation",
        "Speculative decoding",
        "2026",
        "https://docs.sglang.io/docs/advanced_features/speculative_decoding",
    ),
    "megatron": _arxiv(
        "Shoeybi et al. 2019",
        "Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism",
        "2019",
        "1909.08053",
    ),
    "llama-3": _arxiv("Llama team 2024", "The Llama 3 Herd of Models", "2024", "2407.21783"),
    "all-reduce": Source(
        "Patarasuk and Yuan 2009",
        "Bandwidth optimal all-reduce algorithms for clusters of workstations",
        "Journal of Parallel and Distributed Computing 69(2)",
        "https://doi.org/10.1016/j.jpdc.2008.09.002",
    ),
    "roofline": Source(
        "Williams et al. 2009",
        "Roofline: An Insightful Visual Performance Model for Multicore Architectures",
        "Communications of the ACM 52(4)",
        "https://doi.org/10.1145/1498765.1498785",
    ),
}
