// Runs these test files in the same process, because loading the modules takes as long as the tests of a file. Test
// files that start a server aren't here, because the tests here would delay the server's start.
import "../snapshots/folder.test.ts";
import "../snapshots/loads.test.ts";
import "../snapshots/mirror.test.ts";
