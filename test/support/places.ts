import { readPlaces } from "../../datasets/places.ts";

/** The bundled places, which are read once for the tests of a process. */
export const places = readPlaces();
