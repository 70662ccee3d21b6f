// Run in one process, because loading the modules takes a process as long as the tests of a file. Files that start a
// server for all of their tests run alone: it would start while the other tests leave this process no turns.
import "../snapshots/folder.test.ts";
import "../snapshots/loads.test.ts";
import "../snapshots/mirror.test.ts";
