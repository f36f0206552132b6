// All settings in effect: value, source and meaning. They are changed in the configuration, not here.
import type { JSX } from 'preact';
import { formatCount } from '../../core/format.ts';
import { useApp } from '../../ui/app-context.ts';
import { useLoad } from '../../ui/hooks.ts';
import { Empty, Loading } from '../../ui/parts.tsx';
import type { PageProps } from '../area.ts';
import { showParameters } from './address.ts';
import { FindField } from './find-field.tsx';
import { Refusal } from './refusal.tsx';
import { bySection, findSettings, isChanged, readSettings, type Setting } from './settings.ts';

export function SettingsTab({ query }: PageProps): JSX.Element {
  const { api } = useApp();
  const { value, error, reload } = useLoad(
    async (signal) => readSettings((await api.request('GET', 'operations/settings', { signal })).text),
    'settings',
  );
  const find = query.get('_find') ?? '';
  const isChangedOnly = query.get('_changed') === '1';
  if (error !== undefined) return <Refusal error={error} onRetry={reload} />;
  if (value === undefined) return <Loading />;
  const shown = findSettings(value, find).filter((setting) => !isChangedOnly || isChanged(setting));
  return (
    <>
      <p class="hint">
        The settings of the running service, which reads its configuration at the start. Secrets are hidden: the service
        does not send them.
      </p>
      <div class="toolbar">
        <FindField
          label="Find a setting"
          placeholder="Words in name, value or meaning"
          value={find}
          onChange={(text) => showParameters(query, { _find: text })}
        />
        <label class="check-label">
          <input
            type="checkbox"
            checked={isChangedOnly}
            onChange={(event) => showParameters(query, { _changed: event.currentTarget.checked ? '1' : '' })}
          />{' '}
          Only changed ones
        </label>
        <span class="total" role="status">
          {formatCount(shown.length)} of {formatCount(value.length)} settings
        </span>
      </div>
      {shown.length === 0 ? (
        <Empty>No settings match.</Empty>
      ) : (
        bySection(shown).map(([section, settings]) => (
          <section key={section} aria-label={section}>
            <h2>{section}</h2>
            <ul class="settings">
              {settings.map((setting) => (
                <SettingItem key={setting.name} setting={setting} />
              ))}
            </ul>
          </section>
        ))
      )}
    </>
  );
}

function SettingItem({ setting }: { readonly setting: Setting }): JSX.Element {
  const { name, source, place, description } = setting;
  return (
    <li>
      <code class="setting-name">{name}</code>
      <span class="setting-value">
        <SettingValue setting={setting} />
      </span>
      <span class="setting-source">
        {isChanged(setting) ? <span class="badge changed">{source}</span> : <span class="quiet">{source}</span>}{' '}
        {place === null ? null : <small>{place}</small>}
      </span>
      {description === null ? null : <small class="setting-text">{description}</small>}
    </li>
  );
}

function SettingValue({ setting }: { readonly setting: Setting }): JSX.Element {
  const { value, is_hidden: isHidden, default: unset } = setting;
  if (isHidden) return <span class="badge">hidden</span>;
  if (value === null) return <span class="quiet">not set</span>;
  return (
    <>
      {value === '' ? <span class="quiet">empty</span> : <code>{value}</code>}
      {isChanged(setting) && unset !== null && unset !== value ? (
        <small> default: {unset === '' ? 'empty' : unset}</small>
      ) : null}
    </>
  );
}
