"""HLS media playlists (RFC 8216) out of fragments."""

from __future__ import annotations

import math
from collections.abc import Sequence

from examples.transcode.model import Fragment


def render(fragments: Sequence[Fragment], *, ended: bool, window: int | None = None) -> str:
    """The playlist of the fragments in their order, or of the last `window` of them.

    Requires: at least one fragment. An ended playlist says so with ENDLIST, so that players stop
    asking for more; a window moves the media sequence on by the fragments that it leaves out.
    """
    shown = fragments[-window:] if window else fragments
    lines = [
        "#EXTM3U",
        "#EXT-X-VERSION:3",
        f"#EXT-X-TARGETDURATION:{target_duration(fragments)}",
        f"#EXT-X-MEDIA-SEQUENCE:{len(fragments) - len(shown)}",
    ]
    if len(shown) == len(fragments):
        lines.append(f"#EXT-X-PLAYLIST-TYPE:{'VOD' if ended else 'EVENT'}")
    for fragment in shown:
        lines += [f"#EXTINF:{fragment.seconds:.3f},", fragment.url]
    if ended:
        lines.append("#EXT-X-ENDLIST")
    return "\n".join(lines) + "\n"


def target_duration(fragments: Sequence[Fragment]) -> int:
    """Whole seconds that no fragment exceeds, taken over all of them so that a window keeps it."""
    return max(1, math.ceil(max(fragment.seconds for fragment in fragments)))
