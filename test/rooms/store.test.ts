// Run in one process, because loading the modules takes a process as long as the tests of a file.
import "../store/registry.test.ts";
import "../store/state.test.ts";
import "../store/wal.test.ts";
