// Runs these test files in the same process, because loading the modules takes as long as the tests of a file. Test
// files that start a server aren't here, because the tests here would delay the server's start.
import "../engine/arrange.test.ts";
import "../engine/changes.test.ts";
import "../engine/codes.test.ts";
import "../engine/exports.test.ts";
import "../engine/image.test.ts";
import "../engine/parquet.test.ts";
import "../engine/prices.test.ts";
import "../engine/search.test.ts";
import "../engine/search-texts.test.ts";
import "../engine/snapshot.test.ts";
import "../engine/sort.test.ts";
