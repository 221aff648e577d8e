"""The `fastcb` command."""
