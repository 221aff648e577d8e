"""Everything that the OpenAPI document allows, and much that it does not: schemathesis makes it up, and asks."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

import pytest

from serve.servers import ARTICLES, NEWS, serving

SCHEMATHESIS = Path(sysconfig.get_path("scripts")) / "schemathesis"
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,negative_data_rejection,unsupported_method,allow_header_conformance"
)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [NEWS, ARTICLES], ids=["fixed actions", "actions with features"])
def test_the_server_keeps_to_its_document(tmp_path, settings):
    pytest.importorskip("schemathesis")
    words = ["--checks", CHECKS, "--max-examples", "60", "--seed", "1", "--suppress-health-check", "all"]
    with serving(tmp_path / "loop.db", *settings) as server:
        asked = [SCHEMATHESIS, "run", f"{server.url}/openapi.json", *words]
        found = subprocess.run(asked, check=False, capture_output=True, text=True, cwd=tmp_path)
        assert server.get("/health/ready").status == 200
        code, _, said = server.stop()
    assert found.returncode == 0, found.stdout[-5000:] + found.stderr
    assert " 0 generated" not in found.stdout
    assert "generated" in found.stdout
    assert (code, said) == (0, "")
