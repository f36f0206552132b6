// Signs in with the session of the tab, or shows the sign-in page; then the frame.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Api } from '../core/api.ts';
import { mayLeave, navigate, reload, startRouter } from '../core/router.ts';
import { loadService, type Service } from '../core/service.ts';
import { finishLogin, forgetUser, readSession, writeSession, type Session } from '../core/storage.ts';
import { AppContext } from '../ui/app-context.ts';
import { ask, Dialogs } from '../ui/dialog.tsx';
import { FailureNote, Loading } from '../ui/parts.tsx';
import { Toasts } from '../ui/toast.tsx';
import { Frame } from './frame.tsx';
import { watchKeys } from './keys.ts';
import { SignIn } from './sign-in.tsx';

type State =
  | { readonly step: 'loading' }
  | { readonly step: 'failed'; readonly error: unknown }
  | {
      readonly step: 'sign-in';
      readonly service: Service;
      readonly complaint: string | undefined;
    }
  | { readonly step: 'frame'; readonly api: Api; readonly service: Service };

const refusal = 'The service did not accept the sign-in. Check the name and the password.';

async function enter(session: Session | undefined, isBrowsing: boolean): Promise<State> {
  const api = new Api(session?.authorization);
  try {
    const service = await loadService(api);
    if (session !== undefined && service.userId === undefined) {
      writeSession(undefined);
      return { step: 'sign-in', service, complaint: refusal };
    }
    if (session === undefined && !isBrowsing) return { step: 'sign-in', service, complaint: undefined };
    if (session !== undefined) writeSession(session);
    return { step: 'frame', api, service };
  } catch (error) {
    return { step: 'failed', error };
  }
}

function askToLeave(): Promise<boolean> {
  return ask({
    title: 'Leave without saving?',
    text: 'Your unsaved changes stay in this browser as a draft.',
    yes: 'Leave',
    no: 'Stay',
  });
}

function askToSignOut(): Promise<boolean> {
  return ask({
    title: 'Sign out without saving?',
    text: 'Your unsaved changes, and all drafts and choices in this browser, will be deleted.',
    yes: 'Leave',
    no: 'Stay',
  });
}

export function App(): JSX.Element {
  const [state, setState] = useState<State>({ step: 'loading' });
  const isSignedOut = useRef(false);
  const start = async (session: Session | undefined, isBrowsing: boolean): Promise<void> => {
    setState(await enter(session, isBrowsing));
  };
  useEffect(() => {
    const begin = (): void => {
      const login = finishLogin(location.hash);
      // The address no longer has the tokens.
      reload();
      void start(login ?? readSession(), false);
    };
    startRouter({ ask: askToLeave, login: begin });
    watchKeys();
    begin();
  }, []);
  // The views of the session are gone by then, so none of them stores a draft after this.
  useEffect(() => {
    if (isSignedOut.current && state.step !== 'frame') forgetUser();
    isSignedOut.current = false;
  }, [state]);
  const signOut = async (): Promise<void> => {
    if (!(await mayLeave(askToSignOut))) return;
    isSignedOut.current = true;
    writeSession(undefined);
    const next = await enter(undefined, false);
    navigate('#/', { replaces: true });
    setState(next);
  };
  return (
    <>
      <Screen
        state={state}
        enter={(session) => void start(session, session === undefined)}
        signOut={() => void signOut()}
      />
      <Dialogs />
      <Toasts />
    </>
  );
}

interface ScreenProps {
  readonly state: State;
  readonly enter: (session: Session | undefined) => void;
  readonly signOut: () => void;
}

function Screen({ state, enter: enterAs, signOut }: ScreenProps): JSX.Element {
  switch (state.step) {
    case 'loading':
      return <Loading />;
    case 'failed':
      return (
        <main class="door">
          <FailureNote error={state.error} onRetry={() => location.reload()} />
        </main>
      );
    case 'sign-in':
      return <SignIn service={state.service} complaint={state.complaint} enter={enterAs} />;
    case 'frame':
      return (
        <AppContext.Provider value={{ api: state.api, service: state.service, signOut }}>
          <Frame />
        </AppContext.Provider>
      );
  }
}
