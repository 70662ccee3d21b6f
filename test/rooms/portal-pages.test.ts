// Runs these test files in one process, apart from the portal's others: those draw pages as text, and these as elements.
import "../support/mapped.ts";
import "../parts/portal/drawn-cards.test.ts";
import "../parts/portal/drawn-explore.test.ts";
import "../parts/portal/drawn-lists.test.ts";
import "../parts/portal/drawn-pages.test.ts";
import "../parts/portal/drawn-pictures.test.ts";
import "../parts/portal/drawn-reference.test.ts";
