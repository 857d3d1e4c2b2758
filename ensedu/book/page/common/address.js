// A setting in the address, #NAME:KEY=VALUE&KEY=VALUE, so that it can be sent to a friend.
export const keepSetting = (name, setting) => {
  const address = `#${name}:${new URLSearchParams(setting)}`;
  if (location.hash !== address) history.replaceState(history.state, "", address);
};

// Tells `apply` what the address names, now and later, of the values that each key takes.
export const followSetting = (root, name, takes, apply) => {
  const follow = () => {
    const [own, setting] = location.hash.slice(1).split(":");
    if (own !== name || setting === undefined) return;
    const pairs = [...new URLSearchParams(setting)];
    apply(Object.fromEntries(pairs.filter(([key, value]) => takes[key]?.includes(value))));
    const { top } = root.getBoundingClientRect();
    if (top > 0 && top < innerHeight / 2) return; // what is seen stays where it is
    (root.closest("figure") ?? root).scrollIntoView({ block: "start" });
  };
  follow();
  addEventListener("hashchange", follow);
};
