// Runs these test files in one process, because loading the modules takes as long as the tests of one file.
import "../support/mapped.ts";
import "../parts/portal/account.test.ts";
import "../parts/portal/begun-words.test.ts";
import "../parts/portal/host.test.ts";
import "../parts/portal/html-text.test.ts";
import "../parts/portal/kept-pages.test.ts";
import "../parts/portal/loading.test.ts";
import "../parts/portal/page-thread.test.ts";
import "../parts/portal/pages.test.ts";
import "../parts/portal/posts.test.ts";
import "../parts/portal/rate-limits.test.ts";
import "../parts/portal/shares.test.ts";
import "../parts/portal/signup.test.ts";
import "../parts/portal/states.test.ts";
