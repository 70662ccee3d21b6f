import { choiceOf } from "./choice.ts";
import { askAhead } from "./explore-data.ts";

/** Sends the first requests of the Explore page while its other modules are still being loaded. */

askAhead(choiceOf(new URL(location.href)));
