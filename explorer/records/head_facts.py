"""What heads are, and the base model that they draft for."""

from __future__ import annotations

from explorer.records.record import Record


class HeadFacts(Record):
    """Kind, size and origin. Bytes are of what one step reads; shares are of the base model's."""

    name: str
    format: str
    differences: list[str]
    architecture: str
    kind: str
    num_heads: int
    num_blocks: int
    parameters: int
    bytes: int
    projection_bytes: int = 0
    base_name: str
    base_backend: str
    base_parameters: int | None
    base_bytes: int
    trained_for: str
    trained_on: str
    trained_backend: str
    published: dict[str, list[float]]

    @property
    def parameter_share(self) -> float | None:
        """Parameters of the heads over those of the base model; None where they are not known."""
        return self.parameters / self.base_parameters if self.base_parameters else None

    @property
    def byte_share(self) -> float:
        """Bytes that a draft reads over those of a one-row pass."""
        return self.bytes / self.base_bytes
