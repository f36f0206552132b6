// What every view needs: the service, requests to it, and a way to announce changes of lists to other views.
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Api } from '../core/api.ts';
import type { Service } from '../core/service.ts';
import { createStore } from '../core/store.ts';

export interface App {
  readonly api: Api;
  readonly service: Service;
  /** Asks for other credentials; unsaved work is guarded. */
  readonly signOut: () => void;
}

export const AppContext = createContext<App | undefined>(undefined);

export function useApp(): App {
  const app = useContext(AppContext);
  if (app === undefined) throw new Error('A view was used outside of the frame.');
  return app;
}

/** Counts the buckets, collections and groups that this tab has created and deleted; the sidebar follows it. */
export const treeVersion = createStore(0);

/** Announces that this tab has created or deleted an object that the sidebar may show. */
export function announceTreeChange(): void {
  treeVersion.set(treeVersion.get() + 1);
}
