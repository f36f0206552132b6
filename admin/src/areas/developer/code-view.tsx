// The request as code, in one language at a time.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { readChoice, writeChoice } from '../../core/storage.ts';
import { Button } from '../../ui/parts.tsx';
import { say } from '../../ui/toast.tsx';
import { codeOf, languages, type CodeRequest, type Language } from './snippets.ts';

export function CodeView({ request }: { readonly request: CodeRequest }): JSX.Element {
  const [language, setLanguage] = useState<Language>(readLanguage);
  const code = codeOf(language, request);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(code);
      say('Copied.');
    } catch {
      // Without TLS, or without a permission, browsers have no clipboard for pages.
      say('The browser does not allow copying. Select the text.');
    }
  };
  return (
    <section class="panel code" aria-label="As code">
      <h2>As code</h2>
      <div class="actions">
        <div class="switch" role="group" aria-label="Language">
          {languages.map((each) => (
            <button
              key={each}
              type="button"
              class="small"
              aria-pressed={each === language}
              onClick={() => {
                setLanguage(each);
                writeChoice('language', { language: each });
              }}
            >
              {each}
            </button>
          ))}
        </div>
        <Button class="small" onClick={copy}>
          Copy
        </Button>
      </div>
      <pre tabIndex={0} aria-label={`The request as ${language}`}>
        {code}
      </pre>
      <p class="hint">Names, passwords and tokens are placeholders.</p>
    </section>
  );
}

function readLanguage(): Language {
  return readChoice('language', ({ language }) => languages.find((each) => each === language)) ?? 'curl';
}
