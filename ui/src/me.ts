import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Me } from "./api/operations";

// MeContext has who is signed in, once that is known.
export const MeContext = createContext<Me | undefined>(undefined);

export const useMe = () => useContext(MeContext);
