// The frame: who is signed in, which list is shown, and messages.
import type { JSX } from 'preact';
import { useCallback, useEffect, useState } from 'preact/hooks';
import { explain, findSession, forgetSession, type Session } from '../session.ts';
import { Store } from '../store.ts';
import { useOnline, useRows } from '../use-rows.ts';
import { ListView } from './list-view.tsx';
import { Lists } from './lists.tsx';
import { SignIn } from './sign-in.tsx';

export function App(): JSX.Element {
  const [session, setSession] = useState(findSession);
  const [store, setStore] = useState<Store>();
  const [message, setMessage] = useState('');
  const report = useCallback((error: unknown) => setMessage(explain(error)), []);

  useEffect(() => {
    if (session !== undefined) Store.open({ session, report }).then(setStore, report);
  }, [session, report]);

  useEffect(() => {
    // The user has signed out in another tab, which has removed all data.
    const follow = (): void => {
      if (findSession() === undefined) location.reload();
    };
    addEventListener('storage', follow);
    return () => removeEventListener('storage', follow);
  }, []);

  const signOut = (): void => {
    const end = async (): Promise<void> => {
      const unsent = (await store?.unsent()) ?? 0;
      if (unsent > 0 && !confirm(`Changes that are not sent yet: ${unsent}. They would be lost. Sign out?`)) return;
      forgetSession();
      await store?.erase();
      setStore(undefined);
      setSession(undefined);
    };
    end().catch(report);
  };

  return (
    <>
      <p role="status" class={message === '' ? 'message empty' : 'message'}>
        {message}
        {message !== '' && <button onClick={() => setMessage('')}>Close</button>}
      </p>
      {session === undefined && <SignIn onSignedIn={setSession} />}
      {store !== undefined && <Home store={store} session={store.session} onSignOut={signOut} />}
    </>
  );
}

interface HomeProps {
  readonly store: Store;
  readonly session: Session;
  readonly onSignOut: () => void;
}

function Home({ store, session, onSignOut }: HomeProps) {
  const id = useHash();
  const isOnline = useOnline();
  const lists = useRows(store.lists);
  const list = lists.find((each) => each.id === id);
  const items = store.listOf(id);
  return (
    <>
      <header>
        <strong>To do</strong>
        <span class={isOnline ? 'online' : 'offline'}>{isOnline ? 'Online' : 'Offline'}</span>
        <span class="user">{session.name}</span>
        <button onClick={onSignOut}>Sign out</button>
      </header>
      <div class="columns">
        <Lists store={store} lists={lists} current={id} />
        <main>
          {list === undefined || items === undefined ? (
            <p>
              {id === '' ? 'Choose a list, or create one.' : 'This list does not exist, or is not shared with you.'}
            </p>
          ) : (
            <ListView key={id} store={store} list={list} items={items} />
          )}
        </main>
      </div>
    </>
  );
}

/** Returns the part of the address behind `#`: the id of the list that is shown. */
function useHash(): string {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const update = (): void => setHash(location.hash);
    addEventListener('hashchange', update);
    return () => removeEventListener('hashchange', update);
  }, []);
  return hash.slice(1);
}
