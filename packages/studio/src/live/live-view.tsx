/**
 * A running service, as it goes. Everything that moves comes from one stream of snapshots; what can be asked or changed goes over the same API
 * that anybody else uses.
 */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { ViewProps } from '../shell/app.tsx';
import { ChecksPanel } from './checks-panel.tsx';
import { ClusterPanel } from './cluster-panel.tsx';
import { ConnectionHead } from './connection-head.tsx';
import type { RuleData } from './example-subject.ts';
import { GatewayPanel } from './gateway-panel.tsx';
import type { History } from './history.ts';
import { InspectDialog, ResetDialog } from './key-dialogs.tsx';
import './live.css';
import { OverrideDialog } from './override-dialog.tsx';
import { activeOverride } from './override-text.ts';
import { OverridesPanel } from './overrides-panel.tsx';
import { type KeyAction, RefusedPanel } from './refused-panel.tsx';
import { RulesPanel } from './rules-panel.tsx';
import { type ActiveOverrideData, isOk, type ServiceApi } from './service-api.ts';
import { TryPanel } from './try-panel.tsx';
import { useLive } from './use-live.ts';
import { useOverrides } from './use-overrides.ts';
import { NeedsToken, NoService } from './without-service.tsx';

export function LiveView(_: ViewProps) {
  const { connection, history, service, chooseToken, connectAgain } = useLive();
  const [paused, setPaused] = useState<History>();
  const shown = paused ?? history;
  function changeToken(token: string | undefined): void {
    // The history is cleared; a picture of it that is held must not outlive it.
    setPaused(undefined);
    chooseToken(token);
  }
  return (
    <div class="live">
      <ConnectionHead
        connection={connection}
        snapshot={shown.latest}
        isPaused={paused !== undefined}
        hasToken={service.hasToken}
        onPause={() => setPaused(paused === undefined ? history : undefined)}
        onForgetToken={() => changeToken(undefined)}
        onConnectAgain={connectAgain}
      />
      {connection.state === 'not-a-service' && <NoService because={connection.because} onConnectAgain={connectAgain} />}
      {connection.state === 'unauthorized' && (
        <NeedsToken because={connection.because} hadToken={service.hasToken} onToken={changeToken} />
      )}
      {shown.latest !== undefined && connection.state !== 'unauthorized' && (
        <Watched history={shown} nowMs={history.latest?.atMs ?? shown.latest.atMs} service={service} />
      )}
    </div>
  );
}

type OpenDialog =
  | { readonly kind: 'inspect' | 'reset'; readonly rule: string; readonly key: string }
  | { readonly kind: 'override'; readonly rule: string; readonly key: string; readonly active?: ActiveOverrideData };

interface WatchedProps {
  readonly history: History;
  /** By the clock of the service; goes on where the history is paused. */
  readonly nowMs: number;
  readonly service: ServiceApi;
}

function Watched({ history, nowMs, service }: WatchedProps) {
  const { cluster, upstreams, atMs, startedAtMs, revision, rules: counted } = history.latest!;
  const rules = useRules(service, `${startedAtMs} ${revision.rules}`);
  const overrides = useOverrides(service, `${startedAtMs} ${revision.overrides}`);
  const [dialog, setDialog] = useState<OpenDialog>();
  const close = useCallback(() => setDialog(undefined), []);
  const ruleNames = counted.filter(({ isConfigured }) => isConfigured).map(({ name }) => name);

  function act(action: KeyAction, { rule, key }: { readonly rule: string; readonly key: string }): void {
    const active = activeOverride(overrides.list ?? [], rule, key);
    setDialog(
      action === 'override' ? { kind: action, rule, key, ...(active && { active }) } : { kind: action, rule, key },
    );
  }

  return (
    <div class="live-panels">
      <ChecksPanel history={history} />
      {upstreams.length > 0 && <GatewayPanel upstreams={upstreams} />}
      {cluster !== null && (
        <ClusterPanel cluster={cluster} atMs={atMs} moves={history.moves} numbers={history.numbers} />
      )}
      <div class="live-column">
        <RulesPanel history={history} />
        <TryPanel service={service} rules={rules} />
      </div>
      <div class="live-column">
        <RefusedPanel snapshot={history.latest!} onAction={act} />
        <OverridesPanel
          service={service}
          overrides={overrides}
          atMs={atMs}
          nowMs={nowMs}
          onEdit={(active) => setDialog(editing(active))}
        />
      </div>
      {dialog?.kind === 'inspect' && (
        <InspectDialog rule={dialog.rule} name={dialog.key} service={service} nowMs={nowMs} onClose={close} />
      )}
      {dialog?.kind === 'reset' && (
        <ResetDialog rule={dialog.rule} name={dialog.key} service={service} onClose={close} onReset={close} />
      )}
      {dialog?.kind === 'override' && (
        <OverrideDialog
          service={service}
          ruleNames={ruleNames}
          start={dialog}
          isFixed={dialog.key !== ''}
          nowMs={nowMs}
          onClose={close}
          inForce={overrides.list ?? []}
          onSaved={(done) => {
            overrides.setDone(done);
            void overrides.refresh();
            close();
          }}
        />
      )}
    </div>
  );
}

/** Undefined: a new one, of whichever rule and key. */
function editing(active: ActiveOverrideData | undefined): OpenDialog {
  if (active === undefined) return { kind: 'override', rule: '', key: '' };
  return { kind: 'override', rule: active.rule, key: active.key, active };
}

/** As they were written; asked again when `revision` is another one. Without them there is no example, and nothing else is missing. */
function useRules(service: ServiceApi, revision: string): readonly RuleData[] | undefined {
  const [rules, setRules] = useState<readonly RuleData[]>();
  const current = useRef(0);
  // With `revision`: another start or a reload may have brought other rules.
  useEffect(() => {
    current.current += 1;
    const own = current.current;
    void service.ask('GET', 'v1/rules').then((reply) => {
      if (own === current.current && isOk(reply)) setRules((reply.body as { rules: readonly RuleData[] }).rules);
    });
  }, [service, revision]);
  return rules;
}
