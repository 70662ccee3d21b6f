// Run in one process, because loading the modules takes a process as long as the tests of a file.
import "../deploy/image.test.ts";
import "../deploy/licences.test.ts";
import "../deploy/upgrade.test.ts";
