// In one process, because loading the modules takes as long as the tests of a file. Files with a server of their own run
// alone: the other tests here would block its start.
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
