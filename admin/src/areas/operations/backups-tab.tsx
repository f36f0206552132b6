// Backups of the database: those that exist, and a new one. Where the service makes none, how to make one.
import type { JSX } from 'preact';
import { formatSize } from '../../core/format.ts';
import { useApp } from '../../ui/app-context.ts';
import { useAttempt } from '../../ui/hooks.ts';
import { Button, Empty, Loading, Moment } from '../../ui/parts.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { say } from '../../ui/toast.tsx';
import { Freshness } from './freshness.tsx';
import { Refusal } from './refusal.tsx';
import { useFresh } from './use-fresh.ts';

interface Backup {
  readonly name: string;
  readonly created: number;
  readonly size_bytes: number;
}

interface Backups {
  readonly data: readonly Backup[];
  readonly state: {
    readonly is_available: boolean;
    readonly is_running: boolean;
    /** Why the last backup failed. */
    readonly error: string | null;
    /** Why the service makes none, and how to make one. */
    readonly advice: string | null;
  };
}

/** Pause between two requests while a backup is running. */
const runningMilliseconds = 1000;

const columns: readonly Column<Backup>[] = [
  { key: 'name', label: 'file', width: 320, cell: ({ name }) => <code title={name}>{name}</code> },
  { key: 'created', label: 'created', width: 200, cell: ({ created }) => <Moment text={String(created)} /> },
  { key: 'size', label: 'size', width: 120, cell: ({ size_bytes: bytes }) => formatSize(bytes) },
];

export function BackupsTab(): JSX.Element {
  const { api } = useApp();
  const { error: refusal, attempt } = useAttempt();
  const fresh = useFresh(
    async (signal) => JSON.parse((await api.request('GET', 'operations/backups', { signal })).text) as Backups,
    'backups',
    (backups) => (backups?.state.is_running === true ? runningMilliseconds : undefined),
  );
  const backups = fresh.value;
  const state = backups?.state;
  const start = (): Promise<void> =>
    attempt(async () => {
      try {
        await api.request('POST', 'operations/backups');
        say('The backup has begun.');
      } finally {
        fresh.reload();
      }
    });
  return (
    <>
      <Freshness fresh={fresh} />
      {state === undefined || backups === undefined ? (
        fresh.error === undefined ? (
          <Loading />
        ) : null
      ) : (
        <>
          {state.is_available ? (
            <div class="toolbar">
              <Button class="primary" disabled={state.is_running} onClick={start}>
                Back up now
              </Button>
              <span class="total" role="status">
                {state.is_running ? 'A backup is running. Requests continue meanwhile.' : ''}
              </span>
            </div>
          ) : (
            <p class="note">
              <Advice text={state.advice ?? 'The service makes no backups of this database.'} />
            </p>
          )}
          {state.error === null ? null : <p class="note bad">The last backup failed: {state.error}</p>}
          <Refusal error={refusal} setting="operations_write_principals" />
          {backups.data.length > 0 ? (
            <Table caption="backups" columns={columns} rows={backups.data} idOf={({ name }) => name} />
          ) : state.is_available ? (
            <Empty>No backups yet.</Empty>
          ) : null}
          {state.is_available || backups.data.length > 0 ? (
            <p class="hint">
              Backups are files on the server that only the service can read. They contain neither attached files nor
              the secret of the configuration. Copy all of it to another machine.
            </p>
          ) : null}
        </>
      )}
    </>
  );
}

/** A text with commands between backticks. */
function Advice({ text }: { readonly text: string }): JSX.Element {
  return <>{text.split('`').map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>))}</>;
}
