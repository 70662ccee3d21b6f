// In one process, because loading the modules takes as long as the tests of a file. Files with a server of their own run
// alone: the other tests here would block its start.
import "../serving/answer-cache.test.ts";
import "../serving/kept.test.ts";
import "../serving/posts.test.ts";
import "../serving/reply.test.ts";
