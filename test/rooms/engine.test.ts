// Run in one process, because loading the modules takes a process as long as the tests of a file. Files that start a
// server for all of their tests run alone: it would start while the other tests leave this process no turns.
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
