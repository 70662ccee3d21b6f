// Run in one process, because loading the modules takes a process as long as the tests of a file. Files that start a
// server for all of their tests run alone: it would start while the other tests leave this process no turns.
import "../deploy/image.test.ts";
import "../deploy/licences.test.ts";
import "../deploy/upgrade.test.ts";
