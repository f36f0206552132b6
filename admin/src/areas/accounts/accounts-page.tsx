// The page of accounts: the own password, and a list with the actions of administrators.
import type { JSX } from 'preact';
import { pageHashOf } from '../../core/places.ts';
import { useApp } from '../../ui/app-context.ts';
import { ask, askForWord } from '../../ui/dialog.tsx';
import { useAttempt } from '../../ui/hooks.ts';
import { ListFrame, usePagedList } from '../../ui/list-frame.tsx';
import { Button, FailureNote, Moment } from '../../ui/parts.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { say } from '../../ui/toast.tsx';
import type { PageProps } from '../area.ts';
import './accounts.css';
import { deleteAccount, generatePassword, readAccount, setEnabled, setPassword, type Account } from './account-row.ts';
import { NewAccount } from './new-account.tsx';
import { OwnPassword } from './password-form.tsx';
import { showPassword } from './shown-password.tsx';

const hrefOf = (query: URLSearchParams): string => pageHashOf('accounts', query);

export function AccountsPage({ query }: PageProps): JSX.Element {
  const { service } = useApp();
  const own = service.userId?.startsWith('account:') === true ? service.userId.slice('account:'.length) : undefined;
  const view = query.get('_view');
  return (
    <>
      <header class="page-head">
        <h1 tabIndex={-1}>Accounts</h1>
      </header>
      {query.has('_new') ? (
        <NewAccount />
      ) : (
        <>
          {own === undefined ? (
            <p class="hint">You are not signed in with an account, so you have no password here.</p>
          ) : (
            <OwnPassword id={own} isOpen={view === 'password'} isDone={view === 'changed'} />
          )}
          <AccountList own={own} query={query} />
        </>
      )}
    </>
  );
}

interface AccountListProps {
  readonly own: string | undefined;
  readonly query: URLSearchParams;
}

function AccountList({ own, query }: AccountListProps): JSX.Element {
  const { service } = useApp();
  const { error, attempt } = useAttempt();
  const list = usePagedList({ path: 'accounts', query, hrefOf, defaultSort: 'id' });
  const rows = (list.page?.rows ?? []).map(readAccount);
  const isFiltered = [...query.keys()].some((key) => !key.startsWith('_'));
  const act = (run: () => Promise<string | undefined>): Promise<void> =>
    attempt(async () => {
      const message = await run();
      list.refresh();
      if (message !== undefined) say(message);
    });
  const columns: readonly Column<Account>[] = [
    { key: 'id', label: 'name', width: 160, cell: ({ id }) => id, ...list.sortable('id') },
    { key: 'state', label: 'may sign in', width: 110, cell: ({ isEnabled }) => (isEnabled ? 'yes' : 'no: disabled') },
    {
      key: 'actions',
      label: 'actions',
      width: 310,
      cell: (account) =>
        account.id === own ? <span class="quiet">your account</span> : <Actions account={account} act={act} />,
    },
    {
      key: 'last_modified',
      label: 'last_modified',
      width: 180,
      cell: ({ lastModified }) => <Moment text={lastModified} />,
      ...list.sortable('last_modified'),
    },
    { key: 'attributes', label: 'attributes', width: 200, cell: ({ summary }) => summary },
  ];
  const isAlone = own !== undefined && list.total === 1 && !isFiltered;
  return (
    <ListFrame
      list={list}
      noun={{ name: 'account', plural: 'accounts' }}
      label="All accounts"
      fields={['id', 'validated', 'last_modified']}
      actions={
        <a class="button primary" href={pageHashOf('accounts', { _new: '1' })}>
          New account
        </a>
      }
      notes={
        <>
          {isAlone ? (
            <p class="hint">
              Only administrators {service.signUp === 'none' ? 'see, create' : 'see'} and change the accounts of others.
            </p>
          ) : null}
          <FailureNote error={error} />
        </>
      }
      refused={<p class="hint">Only administrators see the accounts of others.</p>}
      empty={isFiltered ? 'No accounts match these filters.' : 'No accounts are visible to you.'}
    >
      <Table caption="accounts" columns={columns} rows={rows} idOf={({ id }) => id} changed={list.changed} />
    </ListFrame>
  );
}

interface ActionsProps {
  readonly account: Account;
  readonly act: (run: () => Promise<string | undefined>) => Promise<void>;
}

/** Shows the actions of administrators on the account of another user. */
function Actions({ account, act }: ActionsProps): JSX.Element {
  const { api } = useApp();
  const { id, isEnabled } = account;
  const reset = async (): Promise<string | undefined> => {
    const text = 'The current password stops working at once. A new one is generated and shown.';
    if (!(await ask({ title: `Reset the password of ${id}?`, text, yes: 'Reset', no: 'Keep it' }))) return undefined;
    const password = generatePassword();
    await setPassword(api, id, password);
    await showPassword(id, password);
    return `The account ${id} has a new password.`;
  };
  const toggle = async (): Promise<string | undefined> => {
    const text = 'Its password is refused at once, and its data stays. You can enable the account again.';
    if (isEnabled && !(await ask({ title: `Disable the account ${id}?`, text, yes: 'Disable', no: 'Keep it' })))
      return undefined;
    await setEnabled(api, account, !isEnabled);
    return `The account ${id} is ${isEnabled ? 'disabled' : 'enabled'}.`;
  };
  const remove = async (): Promise<string | undefined> => {
    const text = 'Its objects remain. They belong to the next account with the same name.';
    if (!(await askForWord({ title: `Delete the account ${id}?`, text, yes: 'Delete the account', word: id })))
      return undefined;
    await deleteAccount(api, account);
    return `The account ${id} is deleted.`;
  };
  return (
    <span class="actions row-actions">
      <Button class="small" label={`Reset password of ${id}`} onClick={() => act(reset)}>
        Reset password
      </Button>
      <Button class="small" label={`${isEnabled ? 'Disable' : 'Enable'} ${id}`} onClick={() => act(toggle)}>
        {isEnabled ? 'Disable' : 'Enable'}
      </Button>
      <Button class="small danger" label={`Delete ${id}`} onClick={() => act(remove)}>
        Delete
      </Button>
    </span>
  );
}
