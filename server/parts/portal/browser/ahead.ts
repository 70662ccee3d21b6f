import { hasWrittenPrices } from "./api.ts";
import { choiceOf } from "./choice.ts";
import { askAhead } from "./explore-data.ts";

/** Sends the first requests of the Explore page while its other modules are still being loaded. */

// If the server wrote no prices into the page, `load` may send other requests. Then nothing is requested early.
if (hasWrittenPrices) askAhead(choiceOf(new URL(location.href)));
