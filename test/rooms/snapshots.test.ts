// Run in one process, because loading the modules takes a process as long as the tests of a file.
import "../snapshots/folder.test.ts";
import "../snapshots/loads.test.ts";
import "../snapshots/mirror.test.ts";
