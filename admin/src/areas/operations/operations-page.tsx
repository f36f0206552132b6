// The page of the operating area: its tabs, one of which the address names.
import type { ComponentType, JSX } from 'preact';
import { pageHashOf } from '../../core/places.ts';
import { useApp } from '../../ui/app-context.ts';
import type { PageProps } from '../area.ts';
import { BackupsTab } from './backups-tab.tsx';
import { LogTab } from './log-tab.tsx';
import './operations.css';
import { OverviewTab } from './overview-tab.tsx';
import { QuotasTab } from './quotas-tab.tsx';
import { partsOf } from './parts.ts';
import { SettingsTab } from './settings-tab.tsx';
import { SlowTab } from './slow-tab.tsx';
import { WebhooksTab } from './webhooks-tab.tsx';

interface OperationsTab {
  /** Value of `_tab` in the address, and the name of the part in the capability. */
  readonly name: string;
  readonly label: string;
  readonly View: ComponentType<PageProps>;
}

const overview: OperationsTab = { name: 'overview', label: 'Overview', View: OverviewTab };
const tabs: readonly OperationsTab[] = [
  overview,
  { name: 'log', label: 'Log', View: LogTab },
  { name: 'slow', label: 'Slow', View: SlowTab },
  { name: 'webhooks', label: 'Webhooks', View: WebhooksTab },
  { name: 'quotas', label: 'Quotas', View: QuotasTab },
  { name: 'backups', label: 'Backups', View: BackupsTab },
  { name: 'settings', label: 'Settings', View: SettingsTab },
];

export function OperationsPage({ query }: PageProps): JSX.Element {
  const { service } = useApp();
  const parts = partsOf(service);
  const shown = tabs.filter(({ name }) => parts.has(name));
  const tab = shown.find(({ name }) => name === query.get('_tab')) ?? overview;
  const { View } = tab;
  return (
    <>
      <header class="page-head">
        <h1 tabIndex={-1}>Operations</h1>
      </header>
      <nav class="tabs" aria-label="Parts">
        {shown.map(({ name, label }) => (
          <a
            key={name}
            href={pageHashOf('operations', { _tab: name })}
            aria-current={name === tab.name ? 'page' : undefined}
            ref={name === tab.name ? showTab : null}
          >
            {label}
          </a>
        ))}
      </nav>
      <section class="operations" aria-label={tab.label} key={tab.name}>
        <View query={query} />
      </section>
    </>
  );
}

/** On a phone the row of tabs may be wider than the page. */
function showTab(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}
