// "Why may X do Y?": a question about one principal and one permission, which the address keeps, and its answer.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { hashOf, type Place } from '../../core/places.ts';
import { navigate } from '../../core/router.ts';
import { useApp } from '../../ui/app-context.ts';
import { useLoad } from '../../ui/hooks.ts';
import { PrincipalField } from '../../ui/principal-picker.tsx';
import { FailureNote, Field, Loading } from '../../ui/parts.tsx';
import { explain, type Explanation } from './explain.ts';
import type { Level } from './rules.ts';

export interface WhyProps {
  readonly place: Place;
  readonly levels: readonly Level[];
  readonly permissions: readonly string[];
  /** Principals with entries. */
  readonly known: readonly string[];
  readonly query: URLSearchParams;
  /** Changes with the object, so that the answer follows it. */
  readonly version: string;
}

const answers: Readonly<Record<Explanation['answer'], string>> = {
  yes: 'Yes.',
  no: 'No, as far as the entries say.',
  unknown: 'Unknown: you do not see everything.',
};

export function Why({ place, levels, permissions, known, query, version }: WhyProps): JSX.Element {
  const { service } = useApp();
  const asked = { who: query.get('_who') ?? '', what: query.get('_what') ?? '' };
  const [who, setWho] = useState(asked.who === '' ? (service.userId ?? 'system.Everyone') : asked.who);
  const [what, setWhat] = useState(asked.what === '' ? 'read' : asked.what);
  useEffect(() => {
    if (asked.who === '') return;
    setWho(asked.who);
    setWhat(asked.what);
  }, [asked.who, asked.what]);
  return (
    <section class="panel why" aria-label="Why may a user do something?">
      <h2>Why may a user do something?</h2>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          const next = new URLSearchParams({ _tab: 'permissions', _who: who.trim(), _what: what });
          navigate(hashOf(place, next), { replaces: true });
        }}
      >
        <PrincipalField label="User or group" place={place} known={known} value={who} onInput={setWho} />
        <Field label="Permission">
          {(attributes) => (
            <select {...attributes} value={what} onChange={(event) => setWhat(event.currentTarget.value)}>
              {permissions.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
        <button type="submit">Explain</button>
      </form>
      {asked.who === '' ? null : <Answer {...{ levels, version, ...asked }} />}
    </section>
  );
}

interface AnswerProps {
  readonly levels: readonly Level[];
  readonly version: string;
  readonly who: string;
  readonly what: string;
}

function Answer({ levels, version, who, what }: AnswerProps): JSX.Element {
  const { api, service } = useApp();
  const { value, error, reload } = useLoad(
    () => explain({ api, service, levels, principal: who, permission: what }),
    `${version} ${what} ${who}`,
  );
  if (error !== undefined) return <FailureNote error={error} onRetry={reload} />;
  if (value === undefined) return <Loading />;
  return (
    <div class="note answer" role="status">
      <p>
        <strong>{answers[value.answer]}</strong> <code>{who}</code> and {what}:
      </p>
      <ul>
        {value.reasons.map((reason) => (
          <li key={reason}>{reason}</li>
        ))}
      </ul>
    </div>
  );
}
