"""Keys and titles of all chapters, in their order: what pages about the tour link to."""

from __future__ import annotations

TOUR = {
    "memory_wall": "The memory wall",
    "draft_and_verify": "Draft and verify",
    "speculative_sampling": "Speculative sampling",
    "heads": "Medusa heads",
    "tree": "From heads to a tree",
    "tree_attention": "Tree attention",
    "accepting": "Accepting",
    "best_tree": "The best tree",
    "training": "Training heads",
}
BESIDE = {
    "beat_the_heads": "Beat the heads",
    "family": "The family",
    "words": "Words",
    "worksheet": "Worksheet",
    "teacher": "For teachers",
}
TITLES = TOUR | BESIDE
