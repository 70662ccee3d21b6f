import { hasWrittenPrices } from "./api.ts";
import { choiceOf } from "./choice.ts";
import { askAhead } from "./explore-data.ts";

/** Sends the first requests of the Explore page while its other modules are still being loaded. */

// Without prices from the server in the page, `load` may need other data, so nothing is requested early.
if (hasWrittenPrices) askAhead(choiceOf(new URL(location.href)));
