class Encamp < Formula
  desc "Plan and run jobs on clusters that are scheduled as Nomad does"
  url "@URL@"
  version "@VERSION@"
  sha256 "@SHA256@"
  license "MPL-2.0"
  @SYSTEM@

  def install
    bin.install "encamp"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/encamp.bash" => "encamp"
    zsh_completion.install "completions/_encamp"
    fish_completion.install "completions/encamp.fish"
  end

  test do
    assert_match "encamp v@VERSION@", shell_output("#{bin}/encamp version")
  end
end
