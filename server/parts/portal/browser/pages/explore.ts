import { Explore } from "../explore.ts";
import { start } from "../start.ts";

start(Explore);
