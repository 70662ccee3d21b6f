// Runs these test files in one process, apart from other tests of pages: those draw them as text, and these as elements.
import "../support/mapped.ts";
import "../parts/console/approved-console.test.ts";
import "../parts/portal/approved-pages.test.ts";
import "../parts/portal/drawn-cards.test.ts";
import "../parts/portal/drawn-explore.test.ts";
import "../parts/portal/drawn-lists.test.ts";
import "../parts/portal/drawn-pages.test.ts";
import "../parts/portal/drawn-pictures.test.ts";
import "../parts/portal/drawn-reference.test.ts";
import "../parts/portal/seen-pages.test.ts";
import "../parts/portal/written-texts.test.ts";
