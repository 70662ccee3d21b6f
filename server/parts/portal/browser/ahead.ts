import { hasWrittenPrices } from "./api.ts";
import { choiceOf } from "./choice.ts";
import { askAhead } from "./explore-data.ts";

/** Sends the first requests of the Explore page while its other modules are still being loaded. */

// If the server found no prices, nothing is requested here, because `load` then sends other requests.
if (hasWrittenPrices) askAhead(choiceOf(new URL(location.href)));
