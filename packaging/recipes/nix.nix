{ lib, stdenvNoCC, fetchurl, installShellFiles }:

stdenvNoCC.mkDerivation {
  pname = "encamp";
  version = "@VERSION@";
  src = fetchurl {
    url = "@URL@";
    sha256 = "@SHA256@";
  };
  nativeBuildInputs = [ installShellFiles ];
  dontConfigure = true;
  dontBuild = true;
  installPhase = ''
    runHook preInstall
    install -Dm755 encamp $out/bin/encamp
    installManPage man/*.1
    installShellCompletion --bash --name encamp completions/encamp.bash
    installShellCompletion --zsh --name _encamp completions/_encamp
    installShellCompletion --fish completions/encamp.fish
    runHook postInstall
  '';
  meta = {
    description = "Plan and run jobs on clusters that are scheduled as Nomad does";
    license = lib.licenses.mpl20;
    mainProgram = "encamp";
    platforms = [ "@ARCHITECTURE@-linux" ];
    sourceProvenance = [ lib.sourceTypes.binaryNativeCode ];
  };
}
