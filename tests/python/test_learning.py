"""FastCB learns, on real data, better than SquareCB under the same setting."""

import re

from support import ok, write
from vw_fastcb.datasets import load_keel

SETTING = ["--gamma_scale", "10", "--learning_rate", "10", "--hash", "all"]


def test_optdigits_by_cbify_reaches_the_loss_we_promise(tmp_path):
    data = write(tmp_path / "optdigits.vw", load_keel("optdigits").shuffled(0).vw_lines())

    def loss(flags: str) -> float:
        return float(re.findall(r"average loss = (\S+)", ok("--cbify", 10, *flags.split(), *SETTING, "-d", data))[0])

    squarecb = loss("--cb_explore_adf --squarecb")
    squarecb_logistic = loss("--cb_explore_adf --fastcb --fastcb_allocation igw")
    for front_door in ("--cb_explore_adf", "--cb_explore 10"):
        fastcb = loss(f"{front_door} --fastcb")
        assert fastcb <= 0.17
        assert fastcb < squarecb_logistic
        assert fastcb < squarecb
