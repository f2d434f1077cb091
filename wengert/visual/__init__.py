"""Pictures and tables. What needs matplotlib or rich imports it when it is first used."""
