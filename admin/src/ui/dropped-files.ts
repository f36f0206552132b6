// The files that the user has dropped on the view of an object, until its tab takes them.
import { createStore } from '../core/store.ts';

export const droppedFiles = createStore<readonly File[]>([]);
