"""The analysis of a bake-off: pure functions on the frames of its store."""

from vw_fastcb.bakeoff.analysis.comparison import head_to_head
from vw_fastcb.bakeoff.analysis.curves import curve_sets, drawn_curves, mean_curve
from vw_fastcb.bakeoff.analysis.findings import Findings, analyse
from vw_fastcb.bakeoff.analysis.held_out import choose_configuration, held_out_sets
from vw_fastcb.bakeoff.analysis.losses import best_bandits, best_configuration, best_configurations, mean_over_orders
from vw_fastcb.bakeoff.analysis.untuned import Untuned, half_of, without_tuning

__all__ = [
    "Findings",
    "Untuned",
    "analyse",
    "best_bandits",
    "best_configuration",
    "best_configurations",
    "choose_configuration",
    "curve_sets",
    "drawn_curves",
    "half_of",
    "head_to_head",
    "held_out_sets",
    "mean_curve",
    "mean_over_orders",
    "without_tuning",
]
