"""Programs as their authors run them, not modules of tests: nothing here is collected."""

collect_ignore_glob = ["*"]
