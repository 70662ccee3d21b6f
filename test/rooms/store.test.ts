// In one process, because loading the modules takes as long as the tests of a file. Files with a server of their own run
// alone: the other tests here would block its start.
import "../store/registry.test.ts";
import "../store/state.test.ts";
